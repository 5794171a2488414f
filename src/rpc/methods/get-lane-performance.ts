import { LANES_VIEW, PERFORMANCE_OPTIONS } from '../../shared/describe/schemas.js'
import { method, optional } from '../method.js'
import { submissionsOf } from './get-submission.js'

/** How submissions of the access that calls went, by lane and tip. */
export const getLanePerformance = method({
  name: 'getLanePerformance',
  summary: 'Landing rate and delay of the submissions of this access, by lane and tip.',
  bound: 'none',
  params: [optional('options', members => members, PERFORMANCE_OPTIONS, ['submissionFilter'])],
  result: LANES_VIEW,
  errors: ['methodNotFound', 'overloaded'],
  example: {
    params: [{ fromMs: 1_764_288_000_000, untilMs: 1_764_374_400_000, lane: 'lander' }],
    result: { fromMs: 1_764_288_000_000, untilMs: 1_764_374_400_000, lanes: [] },
  },
  run: (context, members) => {
    const [accessId, submissions] = submissionsOf(context)
    return submissions.performance(accessId, members)
  },
})
