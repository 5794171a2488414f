import * as v from 'valibot'
import { foldEmail, MEMBERS_MAX } from '../../../access/members/members.js'
import type { AccessService } from '../../../access/service.js'
import type { Access } from '../../../access/store/tables.js'
import { RpcError } from '../../../shared/errors.js'
import { ok, route, type Route } from '../../http/route.js'
import { CHANGE_ERRORS } from '../change-errors.js'
import { answerChange, answerRemoval, changeAnswers, removalAnswers } from '../effect.js'
import { effectEntry } from '../effect-shape.js'
import * as shapes from './shapes.js'

const PATH = '/api/accesses/:accessId/members'

const toEmail = (text: string): string => {
  const email = foldEmail(text)
  if (email !== undefined) return email
  throw new RpcError('wrongInput', { field: 'body.email', problem: shapes.emailProblem })
}

const toView = ({ members = [] }: Access) => ({
  members: members.map(({ email, role, addedAtMs }) => ({ email, role, addedAtMs })),
})

/** What a member calls to leave; the owner is no member. */
const leaveRoute = (accessService: AccessService): Route =>
  route({
    method: 'POST',
    path: `${PATH}/leave`,
    guard: 'session',
    accessRole: 'view',
    isRateLimited: true,
    summary: 'Leave an access as a member; nothing of it is answered when this is answered',
    audit: 'leave-access',
    auditRequest: (_body, answer) => ({ email: Object(answer).email }),
    answers: changeAnswers('The member that has left', shapes.left),
    errors: ['noSuchMember', ...CHANGE_ERRORS],
    handle: async ({ access: { accessId }, session }) => {
      const email = session?.verifiedEmail ?? ''
      const { effect } = await accessService.removeMember(accessId, email)
      return answerChange({ email }, effect)
    },
  })

/** Routes of the members of an access: its owner changes them, and each may leave. */
export const createMemberRoutes = ({
  accessService,
}: {
  readonly accessService: AccessService
}): readonly Route[] => [
  route({
    method: 'GET',
    path: PATH,
    watchedMs: 2_000,
    guard: 'session',
    accessRole: 'view',
    summary: 'Who else may use the dashboard for an access',
    answers: { 200: { description: 'The owner is not among them', body: shapes.members } },
    handle: ({ access }) => ok(toView(access)),
  }),
  route({
    method: 'POST',
    path: PATH,
    guard: 'session',
    accessRole: 'owner',
    isRateLimited: true,
    needsRecentSignIn: true,
    summary: `Add a member by e-mail address; up to ${MEMBERS_MAX}`,
    audit: 'add-member',
    body: shapes.wanted,
    answers: { 201: { description: 'All members', body: shapes.members } },
    errors: ['memberExists', 'memberIsOwner', 'membersFull', ...CHANGE_ERRORS],
    handle: async ({ access: { accessId }, body, session }) => {
      const email = toEmail(body.email)
      if (email === session?.verifiedEmail) throw new RpcError('memberIsOwner')
      const changed = await accessService.addMember(accessId, email, body.role)
      return { status: 201, body: toView(changed) }
    },
  }),
  route({
    method: 'PUT',
    path: PATH,
    guard: 'session',
    accessRole: 'owner',
    isRateLimited: true,
    needsRecentSignIn: true,
    summary: 'Set the role of a member; what it takes away is refused when this is answered',
    audit: 'set-member-role',
    body: shapes.wanted,
    answers: changeAnswers('All members', v.object({ ...shapes.members.entries, ...effectEntry })),
    errors: ['noSuchMember', ...CHANGE_ERRORS],
    handle: async ({ access: { accessId }, body }) => {
      const email = toEmail(body.email)
      const { effect, ...changed } = await accessService.setMemberRole(accessId, email, body.role)
      return answerChange(toView(changed), effect)
    },
  }),
  route({
    method: 'POST',
    path: `${PATH}/remove`,
    guard: 'session',
    accessRole: 'owner',
    isRateLimited: true,
    summary: 'Remove a member; nothing of the access is answered to them when this is answered',
    audit: 'remove-member',
    body: shapes.named,
    answers: removalAnswers('The member is removed'),
    errors: ['noSuchMember', ...CHANGE_ERRORS],
    handle: async ({ access: { accessId }, body }) => {
      const { effect } = await accessService.removeMember(accessId, toEmail(body.email))
      return answerRemoval(effect)
    },
  }),
  leaveRoute(accessService),
]
