import type { Access } from '../../lib/wire.js'

const EXPLAINED: Partial<Record<Access['state'], string>> = {
  ended:
    'This access has ended. Its tokens are kept, but requests with them are refused (HTTP 403) until the access is extended.',
  upcoming:
    'This access is not valid yet. Requests with its tokens are refused (HTTP 403) until it starts.',
}

/** Says that an access is not active, and what that means; nothing of one that is. */
export const StateNotice = ({ state }: { readonly state: Access['state'] }) =>
  EXPLAINED[state] === undefined ? null : (
    <div class="notice is-warning" role="alert">
      <p>{EXPLAINED[state]}</p>
    </div>
  )
