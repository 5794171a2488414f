import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import t from 'tap'
import { PREBUILT_BINARIES } from '../../src/server/prebuilt-binaries.js'
import { repositoryPath } from '../fixtures/repository.js'

/** ABIs of Node.js 20, 22 and 24. */
const ABIS = ['115', '127', '137']

t.test('each binary of uWebSockets.js that may be loaded has the recorded checksum', async t => {
  const { napi } = JSON.parse(readFileSync(repositoryPath('package.json'), 'utf8'))
  const targets: string[] = napi.targets
  const names = targets.flatMap(target => {
    const [arch, , platform] = target.split('-')
    return ABIS.map(abi => `uws_${platform}_${arch === 'x86_64' ? 'x64' : 'arm64'}_${abi}.node`)
  })
  t.strictSame([...PREBUILT_BINARIES.keys()], names, 'every platform of the addon')
  const folder = dirname(createRequire(import.meta.url).resolve('uWebSockets.js'))
  for (const [name, recorded] of PREBUILT_BINARIES) {
    const digest = createHash('sha256')
      .update(readFileSync(join(folder, name)))
      .digest('hex')
    t.equal(digest, recorded, name)
  }
})
