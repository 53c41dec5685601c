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

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
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
	"emulation-forward-compatible": true, "min-compatibility-version": true, "token-auth-file": true, "advertise-address": true,
	"external-hostname": true,
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
	defaults := map[string]string{}
	for _, set := range options.NewServerRunOptions().Flags().FlagSets {
		set.VisitAll(func(flag *pflag.Flag) { defaults[flag.Name] = text(flag) })
	}
	var flags []string
	for _, set := range opts.Flags().FlagSets {
		set.VisitAll(func(flag *pflag.Flag) {
			if ownFlags[flag.Name] || text(flag) == defaults[flag.Name] {
				return
			}
			for _, value := range values(flag) {
				flags = append(flags, "--"+flag.Name+"="+value)
			}
		})
	}
	slices.Sort(flags)
	return slices.Compact(flags)
}

// Gates of downstream builds of Kubernetes.
var downstreamGates = map[featuregate.Feature]bool{
	"MinimumKubeletVersion": true, "RouteExternalCertificate": true, "StoragePerformantSecurityPolicy": true,
}

// Gates returns the gates that are not as they are by default, and the emulated version.
func Gates(opts *options.ServerRunOptions) []string {
	registry := opts.GenericServerRunOptions.ComponentGlobalsRegistry
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
func Start(ctx context.Context, name string, opts *options.ServerRunOptions, flags []string) (*Server, error) {
	folder := opts.SecureServing.ServerCert.CertDirectory
	port := opts.SecureServing.BindPort
	if opts.SecureServing.Listener != nil {
		port = opts.SecureServing.Listener.Addr().(*net.TCPAddr).Port
		opts.SecureServing.Listener.Close()
	}
	tokens := fmt.Sprintf("%s,system:apiserver,00000000-0000-0000-0000-000000000000,system:masters\n", token)
	if file := opts.Authentication.TokenFile; file != nil && file.TokenFile != "" {
		more, err := os.ReadFile(file.TokenFile)
		if err != nil {
			return nil, err
		}
		tokens += string(more)
	}
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
		authorities := admin.CAData
		if own, err := os.ReadFile(filepath.Join(folder, "apiserver.crt")); err == nil {
			authorities = append(append(slices.Clone(authorities), '\n'), own...)
		}
		config := &rest.Config{Host: "https://" + address, BearerToken: token, QPS: -1, Burst: -1,
			TLSClientConfig: rest.TLSClientConfig{CAData: authorities}}
		return config, nil
	}
	return nil, errors.New("portcullis does not listen")
}
