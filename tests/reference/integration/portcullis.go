// SPDX-License-Identifier: Apache-2.0

// Package portcullistest starts Portcullis where Kubernetes' integration tests start a kube-apiserver in their own
// process. tests/reference/integration/run puts it there with Go's -overlay.
package portcullistest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	genericoptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/cert"
	"k8s.io/component-base/compatibility"
	"k8s.io/component-base/featuregate"

	"k8s.io/kubernetes/cmd/kube-apiserver/app/options"
)

const token = "portcullis-loopback"

// Server is a running Portcullis. Its fields have the names that the tests expect of a kube-apiserver.
type Server struct {
	GenericAPIServer struct{ LoopbackClientConfig *rest.Config }
	Done             chan error
}

// Flags that are not passed on: the address is chosen here, gates are told one by one.
var ownFlags = map[string]bool{
	"secure-port": true, "bind-address": true, "cert-dir": true, "feature-gates": true, "emulated-version": true,
	"emulation-forward-compatible": true, "min-compatibility-version": true, "external-hostname": true,
	// What only the server of custom resources has.
	"kubeconfig": true, "authentication-kubeconfig": true, "authentication-skip-lookup": true, "authorization-kubeconfig": true,
}

func values(flag *pflag.Flag) []string {
	if many, ok := flag.Value.(pflag.SliceValue); ok {
		if flag.Value.Type() == "stringArray" {
			return many.GetSlice()
		}
		return []string{strings.Join(many.GetSlice(), ",")}
	}
	return []string{strings.TrimSuffix(strings.TrimPrefix(flag.Value.String(), "["), "]")}
}

func text(flag *pflag.Flag) string { return strings.Join(values(flag), "\x00") }

// Flags returns the flags in which the options differ from the defaults.
func Flags(opts *options.ServerRunOptions) []string {
	all := func(opts *options.ServerRunOptions) *pflag.FlagSet {
		flags := pflag.NewFlagSet("all", pflag.ContinueOnError)
		for _, set := range opts.Flags().FlagSets {
			flags.AddFlagSet(set)
		}
		return flags
	}
	return Changed(all(opts), all(options.NewServerRunOptions()))
}

// Changed returns the flags whose values differ from those of the defaults.
func Changed(flags, defaults *pflag.FlagSet) []string {
	var changed []string
	flags.VisitAll(func(flag *pflag.Flag) {
		if ownFlags[flag.Name] || text(flag) == text(defaults.Lookup(flag.Name)) {
			return
		}
		for _, value := range values(flag) {
			changed = append(changed, "--"+flag.Name+"="+value)
		}
	})
	return changed
}

// Gates of downstream builds of Kubernetes.
var downstreamGates = map[featuregate.Feature]bool{
	"MinimumKubeletVersion": true, "RouteExternalCertificate": true, "StoragePerformantSecurityPolicy": true,
}

// Gates returns the gates that are not as they are by default, and the emulated version.
func Gates(registry compatibility.ComponentGlobalsRegistry) []string {
	gates, ok := registry.FeatureGateFor(compatibility.DefaultKubeComponent).(featuregate.MutableVersionedFeatureGate)
	if !ok {
		return nil
	}
	var flags, set []string
	for name, spec := range gates.GetAll() {
		if gates.Enabled(name) != spec.Default && !spec.LockToDefault && !downstreamGates[name] {
			set = append(set, fmt.Sprintf("%s=%t", name, gates.Enabled(name)))
		}
	}
	slices.Sort(set)
	if len(set) > 0 {
		flags = append(flags, "--feature-gates="+strings.Join(set, ","))
	}
	version := registry.EffectiveVersionFor(compatibility.DefaultKubeComponent)
	if emulated := version.EmulationVersion(); emulated.LessThan(version.BinaryVersion()) {
		flags = append(flags, fmt.Sprintf("--emulated-version=kube=%d.%d", emulated.Major(), emulated.Minor()))
	}
	return flags
}

// Start runs the server named by $PORTCULLIS until the context ends. Its log is a file in $PORTCULLIS_LOGS.
func Start(ctx context.Context, name string, serving *genericoptions.SecureServingOptionsWithLoopback, flags []string) (*Server, error) {
	folder := serving.ServerCert.CertDirectory
	port := serving.BindPort
	if serving.Listener != nil {
		port = serving.Listener.Addr().(*net.TCPAddr).Port
		serving.Listener.Close()
	}
	tokens := fmt.Sprintf("%s,system:apiserver,00000000-0000-0000-0000-000000000000,system:masters\n", token)
	flags = slices.DeleteFunc(flags, func(flag string) bool {
		file, found := strings.CutPrefix(flag, "--token-auth-file=")
		if found {
			more, _ := os.ReadFile(file)
			tokens += string(more)
		}
		return found
	})
	tokenFile := filepath.Join(folder, "loopback-tokens.csv")
	if err := os.WriteFile(tokenFile, []byte(tokens), 0o600); err != nil {
		return nil, err
	}
	logs := os.Getenv("PORTCULLIS_LOGS")
	logFile, err := os.CreateTemp(logs, regexp.MustCompile(`[^A-Za-z0-9]+`).ReplaceAllString(name, "_")+"-*.log")
	if err != nil {
		return nil, err
	}
	args := append([]string{"serve", "--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", port), "--cert-dir=" + folder,
		"--data-dir=" + filepath.Join(folder, "data"), "--token-auth-file=" + tokenFile, "--controllers=-*"}, flags...)
	// Portcullis has RBAC unless told otherwise, kube-apiserver allows everything.
	if !slices.ContainsFunc(flags, func(flag string) bool { return strings.HasPrefix(flag, "--authorization-") }) {
		args = append(args, "--authorization-mode=AlwaysAllow")
	}
	fmt.Fprintln(logFile, strings.Join(args, " "))
	process := exec.Command(os.Getenv("PORTCULLIS"), args...)
	process.Stdout, process.Stderr = logFile, logFile
	process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := process.Start(); err != nil {
		return nil, err
	}
	server := &Server{Done: make(chan error, 1)}
	ended := make(chan error, 1)
	go func() { ended <- process.Wait() }()
	go func() {
		defer close(server.Done)
		select {
		case err := <-ended:
			said, _ := os.ReadFile(logFile.Name())
			server.Done <- fmt.Errorf("portcullis ended: %v: %s", err, said)
		case <-ctx.Done():
			process.Process.Signal(syscall.SIGTERM)
			select {
			case <-ended:
			case <-time.After(10 * time.Second):
				process.Process.Kill()
			}
		}
	}()
	config, err := client(folder, port, server)
	if err != nil {
		return nil, err
	}
	server.GenericAPIServer.LoopbackClientConfig = config
	return server, nil
}

func client(folder string, port int, server *Server) (*rest.Config, error) {
	file := filepath.Join(folder, "data/admin.kubeconfig")
	address := fmt.Sprintf("127.0.0.1:%d", port)
	for range 600 {
		select {
		case err := <-server.Done:
			return nil, err
		case <-time.After(20 * time.Millisecond):
		}
		connection, err := net.Dial("tcp", address)
		if err != nil {
			continue
		}
		connection.Close()
		admin, err := clientcmd.BuildConfigFromFlags("", file)
		if err != nil {
			continue
		}
		tls := rest.TLSClientConfig{CAData: admin.CAData}
		if own, err := os.ReadFile(filepath.Join(folder, "apiserver.crt")); err == nil {
			tls.CAData = append(append(slices.Clone(admin.CAData), '\n'), own...)
			tls.ServerName = serverName(own)
		}
		return &rest.Config{Host: "https://" + address, BearerToken: token, QPS: -1, Burst: -1, TLSClientConfig: tls}, nil
	}
	return nil, errors.New("portcullis does not listen")
}

// serverName returns a name of the certificate if it is not that of the address: tests advertise others.
func serverName(certificate []byte) string {
	certificates, err := cert.ParseCertsPEM(certificate)
	if err != nil || certificates[0].VerifyHostname("127.0.0.1") == nil || len(certificates[0].DNSNames) == 0 {
		return ""
	}
	return certificates[0].DNSNames[0]
}
