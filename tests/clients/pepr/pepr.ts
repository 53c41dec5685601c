// SPDX-License-Identifier: Apache-2.0

import { PeprModule } from 'pepr';

import cfg from './package.json';
import { Teams } from './capabilities/teams';

const module = new PeprModule(cfg, [Teams], { deferStart: true });
// `pepr build` loads the module only to ask for its capabilities.
if (process.env.PEPR_MODE !== 'build') module.start(Number(process.env.PEPR_PORT ?? 3000));
