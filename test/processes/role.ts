import { spawnSync } from 'node:child_process'
import t from 'tap'
import { repositoryPath } from '../fixtures/repository.js'

const PROGRAM = repositoryPath('dist/role.js')
const run = (...args: string[]) =>
  spawnSync(process.execPath, [PROGRAM, ...args], { encoding: 'utf8' })

for (const args of [[], ['unknown']])
  t.match(run(...args), { status: 2, stderr: 'slotline: no such role\n' }, args.join(' '))
t.equal(run('edge').status, 1, 'a role without a supervisor ends')
