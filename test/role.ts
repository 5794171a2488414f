import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import t from 'tap'

const PROGRAM = fileURLToPath(new URL('../dist/role.js', import.meta.url))
const run = (...args: string[]) =>
  spawnSync(process.execPath, [PROGRAM, ...args], { encoding: 'utf8' })

for (const args of [[], ['unknown']])
  t.match(run(...args), { status: 2, stderr: 'slotline: no such role\n' }, args.join(' '))
t.equal(run('edge').status, 1, 'a role without a supervisor ends')
