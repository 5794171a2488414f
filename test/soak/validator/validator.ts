import t from 'tap'
import { recordRun } from '../../fixtures/validator/recording/record-run.js'
import { runAgainst } from '../../fixtures/validator/run.js'

/** Set by `npm run soak:validator`: how long the traffic runs with each consensus. */
const minutes = Number(process.env['SLOTLINE_VALIDATOR_MINUTES'] ?? 0)
/** `tower`, `alpenglow`, or both. */
const only = process.env['SLOTLINE_VALIDATOR_CONSENSUS']

/** Building the validator, and comparisons after the time for traffic. */
const REST_MS = 4 * 3_600_000

const skip =
  minutes === 0 && '`npm run soak:validator` runs it: the validator takes 40 minutes to build'

t.setTimeout(minutes * 2 * 60_000 + REST_MS)

for (const consensus of ['tower', 'alpenglow'])
  if (only === undefined || only === consensus)
    void t.test(`the index equals a validator with ${consensus}`, { skip }, t =>
      runAgainst(t, { isAlpenglow: consensus === 'alpenglow', minutes }),
    )

/** A folder: a short run is recorded there in place of these tests' own. */
const recordTo = process.env['SLOTLINE_VALIDATOR_RECORD']

if (recordTo !== undefined)
  void t.test('a run is recorded', t => recordRun(t, recordTo, only === 'alpenglow'))
