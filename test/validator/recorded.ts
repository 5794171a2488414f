import { existsSync } from 'node:fs'
import t from 'tap'
import { replayRecording } from '../fixtures/validator/recording/replay.js'
import { repositoryPath } from '../fixtures/repository.js'

/** Recorded by `npm run soak:validator`; docs/truth.md says how. */
const RECORDED = repositoryPath('test/fixtures/validator/recorded')

t.test('the index equals a recorded validator', { skip: !existsSync(RECORDED) }, async t => {
  t.setTimeout(120_000)
  const { counts, differences } = await replayRecording(t, RECORDED)
  t.strictSame(differences.slice(0, 5), [], 'no difference')
  t.ok([...counts.values()].reduce((sum, count) => sum + count, 0) > 10_000, 'of many')
})
