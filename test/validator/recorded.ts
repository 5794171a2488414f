import t from 'tap'
import { replayRecording } from '../fixtures/validator/recording/replay.js'
import { repositoryPath } from '../fixtures/repository.js'

/** Recorded by `npm run soak:validator`; docs/truth.md says how. */
const RECORDED = repositoryPath('test/fixtures/validator/recorded')
/** Accounts and replies of the recording. */
const COMPARED_MIN = 8_000

t.test('the index equals a recorded validator', async t => {
  t.setTimeout(120_000)
  const { counts, differences } = await replayRecording(t, RECORDED)
  t.strictSame(differences.slice(0, 5), [], 'no difference')
  const compared = [...counts.values()].reduce((sum, count) => sum + count, 0)
  t.ok(compared > COMPARED_MIN, `of ${compared}`)
})
