import { spawn } from 'node:child_process'
import t from 'tap'
import { repositoryPath } from '../../fixtures/repository.js'

const MANIFEST = repositoryPath('native/Cargo.toml')

t.test('without a C++ compiler the build fails with a line that says what to install', async t => {
  t.setTimeout(300_000)
  const args = ['check', '--offline', '--package', 'uws', '--manifest-path', MANIFEST]
  const child = spawn('cargo', [...args, '--target-dir', t.testdir()], {
    env: { ...process.env, CXX: 'no-such-compiler' },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let output = ''
  child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const code = await new Promise(resolve => child.on('close', resolve))
  t.not(code, 0, output)
  t.match(
    output,
    /error: .*the server cannot be compiled: no C\+\+ compiler no-such-compiler: .*; on Debian: apt-get install g\+\+;/,
  )
})
