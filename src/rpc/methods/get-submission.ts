import { RpcError } from '../../shared/errors.js'
import { orNull, SIGNATURE, SUBMISSION_VIEW } from '../../shared/describe/schemas.js'
import { toText } from '../../shared/values.js'
import { method, required, type MethodContext, type SubmissionReads } from '../method.js'

/** The access of a call, and its submissions. Throws where nothing can be submitted. */
export const submissionsOf = ({
  owner,
  submissions,
}: MethodContext): readonly [accessId: string, reads: SubmissionReads] => {
  if (owner === undefined || submissions === undefined) throw new RpcError('methodNotFound')
  return [owner, submissions]
}

/** What became of a submission of the access that calls. */
export const getSubmission = method({
  name: 'getSubmission',
  summary: 'What became of a submission of this access; `null` for one that is unknown.',
  bound: 'none',
  params: [
    required('key', toText, { anyOf: [{ type: 'string', format: 'uuid' }, SIGNATURE] }, [
      'submissionKey',
    ]),
  ],
  result: orNull(SUBMISSION_VIEW),
  errors: ['methodNotFound'],
  example: {
    params: ['01932f4c-8a00-7000-8000-000000000000'],
    result: null,
  },
  run: (context, key) => {
    const [accessId, submissions] = submissionsOf(context)
    return submissions.find(accessId, key)
  },
})
