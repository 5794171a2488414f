import {
  list,
  orNull,
  record,
  SUBMISSION_FILTERS,
  SUBMISSION_VIEW,
} from '../../shared/describe/schemas.js'
import { method, optional } from '../method.js'
import { submissionsOf } from './get-submission.js'

/** Submissions of the access that calls. */
export const getSubmissions = method({
  name: 'getSubmissions',
  summary: 'A page of the submissions of this access, newest first.',
  bound: 'none',
  params: [optional('options', members => members, SUBMISSION_FILTERS, ['submissionFilter'])],
  result: record({
    submissions: list(SUBMISSION_VIEW),
    next: orNull({ type: 'string', format: 'uuid' }),
  }),
  errors: ['methodNotFound'],
  example: {
    params: [{ limit: 10, state: 'final' }],
    result: { submissions: [], next: null },
  },
  run: (context, members) => {
    const [accessId, submissions] = submissionsOf(context)
    return submissions.list(accessId, members)
  },
})
