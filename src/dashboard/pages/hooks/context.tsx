import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import type { Api } from '../lib/api.js'
import type { formatAccess } from '../lib/route.js'
import type { Access } from '../lib/wire.js'
import type { Live } from './live.js'

/** Services that components use. */
export type Services = {
  readonly api: Api
  readonly live: Live
  /** The link to the page of an access. */
  readonly accessHref: typeof formatAccess
  /** Announces a text to screen readers. */
  readonly announce: (text: string) => void
  /** The session has ended. */
  readonly onSignedOut: () => void
}

const Context = createContext<Services | undefined>(undefined)

export const ServicesProvider = Context.Provider

export const useServices = (): Services => {
  const services = useContext(Context)
  if (services === undefined) throw new Error('outside of ServicesProvider')
  return services
}

/** The role of the person in the access that is shown; an operator has none, and only looks. */
type Role = Access['role'] | 'operator'

const RoleContext = createContext<Role>('owner')

export const RoleProvider = RoleContext.Provider

export const useRole = (): Role => useContext(RoleContext)

/** Whether the person may change the access that is shown. */
export const useMayChange = (): boolean => {
  const role = useRole()
  return role === 'owner' || role === 'manage'
}
