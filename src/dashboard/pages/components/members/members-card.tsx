import { useState } from 'preact/hooks'
import { EMAIL_BYTES_MAX, type MemberRole } from '../../../../access/store/member-shape.js'
import { useRole, useServices } from '../../hooks/context.js'
import { toMessage, useLoaded } from '../../hooks/use-loaded.js'
import { formatMoment } from '../../lib/format.js'
import type { Member } from '../../lib/wire.js'
import { ConfirmDialog } from '../connect/confirm-dialog.js'
import { Failure } from '../shared/failure.js'
import { StackedTable } from '../shared/stacked-table.js'

/** How often the members are loaded again. */
const REFRESH_MS = 30_000

const ROLES = [
  ['view', 'View'],
  ['manage', 'Manage'],
] as const

const EFFECTS = [
  'The dashboard refuses them this access at once.',
  'Tokens that they have seen and API keys that they have made still work: regenerate the tokens and revoke the keys.',
]

const LEAVE_EFFECTS = [
  'The dashboard refuses you this access at once. Only its owner can add you again.',
  'Tokens that you have seen and API keys that you have made still work: the owner regenerates and revokes them.',
]

const RoleSelect = ({
  id,
  name,
  role,
  onChange,
}: {
  readonly id: string
  /** Read by screen readers; undefined: there is a label. */
  readonly name?: string
  readonly role: string
  /** Resolves with whether it was changed. */
  readonly onChange: (role: MemberRole) => Promise<boolean>
}) => (
  <select
    id={id}
    class="field"
    aria-label={name}
    value={role}
    onChange={event => {
      const select = event.currentTarget
      const [wanted] = ROLES.find(([value]) => value === select.value) ?? []
      if (wanted === undefined) return
      void onChange(wanted).then(isDone => {
        if (!isDone) select.value = role
      })
    }}
  >
    {ROLES.map(([value, text]) => (
      <option key={value} value={value}>
        {text}
      </option>
    ))}
  </select>
)

/** The members of an access, and changes of them one after the other. */
const useMembers = (accessId: string) => {
  const { api, announce } = useServices()
  const loaded = useLoaded(accessId, () => api.members(accessId), REFRESH_MS)
  const [problem, setProblem] = useState<string>()
  const [isBusy, setBusy] = useState(false)
  const change = async (run: () => Promise<unknown>, done: string): Promise<boolean> => {
    if (isBusy) return false
    setBusy(true)
    setProblem(undefined)
    try {
      await run()
      announce(done)
      return true
    } catch (error) {
      setProblem(toMessage(error))
      return false
    } finally {
      await loaded.reload()
      setBusy(false)
    }
  }
  return {
    ...{ ...loaded, problem, isBusy },
    add: (email: string, role: MemberRole) =>
      change(() => api.addMember(accessId, email, role), 'Member added'),
    setRole: (email: string, role: MemberRole) =>
      change(() => api.setMemberRole(accessId, email, role), 'Role changed'),
    remove: async (email: string): Promise<void> => {
      await api.removeMember(accessId, email)
      await loaded.reload()
      announce('Member removed')
    },
  }
}

type Control = ReturnType<typeof useMembers>

const AddForm = ({ control }: { readonly control: Control }) => {
  const [email, setEmail] = useState('')
  const [role, setRole] = useState<MemberRole>('view')
  const add = async (): Promise<void> => {
    if (await control.add(email.trim(), role)) setEmail('')
  }
  return (
    <form
      class="filters"
      noValidate
      onSubmit={event => {
        event.preventDefault()
        void add()
      }}
    >
      <div class="filter">
        <label for="member-email">E-mail address</label>
        <input
          id="member-email"
          class="field"
          inputMode="email"
          autoComplete="off"
          spellcheck={false}
          maxLength={EMAIL_BYTES_MAX}
          value={email}
          onInput={event => setEmail(event.currentTarget.value)}
        />
      </div>
      <div class="filter">
        <label for="member-role">Role</label>
        <RoleSelect
          id="member-role"
          role={role}
          onChange={async wanted => {
            setRole(wanted)
            return true
          }}
        />
      </div>
      <button class="button" aria-busy={control.isBusy}>
        Add member
      </button>
    </form>
  )
}

const Row = ({
  member: { email, role, addedAtMs },
  control,
  onRemove,
}: {
  readonly member: Member
  /** Undefined of those who may not change it. */
  readonly control: Control | undefined
  readonly onRemove: () => void
}) => (
  <tr>
    <th scope="row">
      <bdi class="member-email">{email}</bdi>
    </th>
    <td data-label="Role">
      {control === undefined ? (
        (ROLES.find(([value]) => value === role)?.[1] ?? role)
      ) : (
        <RoleSelect
          id={`role-${email}`}
          name={`Role of ${email}`}
          role={role}
          onChange={wanted => control.setRole(email, wanted)}
        />
      )}
    </td>
    <td data-label="Added">{formatMoment(addedAtMs)}</td>
    {control !== undefined && (
      <td data-label="Action">
        <button type="button" class="button is-danger-quiet" onClick={onRemove}>
          Remove<span class="unseen"> {email}</span>
        </button>
      </td>
    )}
  </tr>
)

/** With which a member ends their own part in an access. */
const LeaveButton = ({ accessId }: { readonly accessId: string }) => {
  const { api, announce } = useServices()
  const [isAsking, setAsking] = useState(false)
  return (
    <div class="webhook-buttons">
      <button type="button" class="button is-danger-quiet" onClick={() => setAsking(true)}>
        Leave this access
      </button>
      {isAsking && (
        <ConfirmDialog
          confirmation={{
            title: `Leave ${accessId}?`,
            effects: LEAVE_EFFECTS,
            action: 'Leave access',
            run: async () => {
              await api.leave(accessId)
              location.hash = '#/'
              announce('You have left the access')
            },
          }}
          onClose={() => setAsking(false)}
        />
      )}
    </div>
  )
}

/** Who else may use the dashboard for an access; its owner changes them, and each may leave. */
export const MembersCard = ({ accessId }: { readonly accessId: string }) => {
  const isOwner = useRole() === 'owner'
  const control = useMembers(accessId)
  const { value, failure, problem, reload } = control
  const [removed, setRemoved] = useState<Member>()
  const members = value?.members ?? []
  const columns = ['Member', 'Role', 'Added', ...(isOwner ? ['Action'] : [])]
  return (
    <section class="card" aria-labelledby="members-heading">
      <h2 id="members-heading">Members</h2>
      <p class="muted">
        {isOwner
          ? 'Members use this page for the access. They may view all but secrets, or manage it as you do, except for members. They sign in with a verified e-mail address.'
          : 'Only the owner of the access changes members.'}
      </p>
      {failure !== undefined && <Failure message={failure} onRetry={() => void reload()} />}
      {value !== undefined && members.length === 0 && <p class="muted">No members yet.</p>}
      {members.length > 0 && (
        <StackedTable label="List of members" columns={columns}>
          {members.map(member => (
            <Row
              key={member.email}
              member={member}
              control={isOwner ? control : undefined}
              onRemove={() => setRemoved(member)}
            />
          ))}
        </StackedTable>
      )}
      {isOwner ? <AddForm control={control} /> : <LeaveButton accessId={accessId} />}
      {problem !== undefined && (
        <p class="field-error" role="alert">
          {problem}
        </p>
      )}
      {removed !== undefined && (
        <ConfirmDialog
          confirmation={{
            title: `Remove ${removed.email}?`,
            effects: EFFECTS,
            action: 'Remove member',
            run: () => control.remove(removed.email),
          }}
          onClose={() => setRemoved(undefined)}
        />
      )}
    </section>
  )
}
