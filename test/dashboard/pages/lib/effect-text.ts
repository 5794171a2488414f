import t from 'tap'
import { toEffectText } from '../../../../src/dashboard/pages/lib/effect-text.js'

const AT_MS = new Date(2030, 0, 1, 12, 0, 1, 234).getTime()
const machine = (id: string, by: 'confirmed' | 'lease' = 'confirmed') => ({ id, by })

t.test('where a former state is dead', t => {
  const machines = [machine('fra-1'), machine('fra-2', 'lease'), machine('fra-3')]
  t.equal(
    toEffectText({ revision: 7, deadAtMs: AT_MS, machines }),
    'dead on 3 of 3 machines at 12:00:01.234',
  )
  t.equal(
    toEffectText({ revision: 7, deadByMs: AT_MS, machines }),
    'dead on 2 of 3 machines, and on all of them by 12:00:01.234',
  )
  t.equal(
    toEffectText({ revision: 7, deadAtMs: AT_MS, machines: [machine('fra-1')] }),
    'dead on 1 of 1 machine at 12:00:01.234',
  )
  t.equal(toEffectText(undefined), '', 'a machine by itself')
  t.end()
})
