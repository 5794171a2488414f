import { rmSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { startDeployment } from '../fixtures/deployment.js'

t.test('a sandbox that has lost its sealing key says so and ends', async t => {
  const { dataDir, stop } = await startDeployment(t)
  t.equal(await stop(), 0)
  rmSync(join(dataDir, 'access.key'))
  await t.rejects(startDeployment(t, { dataDir }), {
    message: /slotline: .*access\.key is missing; restore it from a backup/,
  })
})
