import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import type { Api } from '../lib/api.js'

/** What every part of the page may need. */
export type Services = {
  readonly api: Api
  /** Says a result to those who do not see the page. */
  readonly announce: (text: string) => void
}

const Context = createContext<Services | undefined>(undefined)

export const ServicesProvider = Context.Provider

export const useServices = (): Services => {
  const services = useContext(Context)
  if (services === undefined) throw new Error('outside of ServicesProvider')
  return services
}
