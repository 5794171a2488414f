import { useEffect, useRef, useState } from 'preact/hooks'
import { ApiFailure } from '../lib/api.js'
import type { Webhook } from '../lib/wire.js'
import { useServices } from './context.js'
import { toMessage, useLoaded } from './use-loaded.js'

/** How often the webhook and its messages are loaded again. */
const REFRESH_MS = 5_000
/** How long a signing secret is shown. */
const SHOWN_MS = 60_000

type Outcome = { readonly isGood: boolean; readonly text: string }
/** What is wrong: the URL in the field, or something else. */
type Shown = Outcome & { readonly isUrlWrong: boolean }

/** The signing secret: requested when it is needed, and kept only while it is shown. */
const useSigningSecret = (accessId: string) => {
  const { api } = useServices()
  const [secret, setSecret] = useState<string>()
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  useEffect(() => () => clearTimeout(timer.current), [])
  const show = (text: string | undefined): void => {
    clearTimeout(timer.current)
    setSecret(text)
    if (text !== undefined) timer.current = setTimeout(() => setSecret(undefined), SHOWN_MS)
  }
  const get = async (): Promise<string> =>
    secret ?? (await api.revealWebhookSecret(accessId)).secret
  const toggle = async (): Promise<void> => show(secret === undefined ? await get() : undefined)
  return { secret, show, get, toggle }
}

/** The webhook of an access, and what can be done with it. */
export const useWebhook = (accessId: string) => {
  const { api, announce } = useServices()
  const loaded = useLoaded(accessId, () => api.webhook(accessId), REFRESH_MS)
  const secret = useSigningSecret(accessId)
  const [typed, setTyped] = useState<string>()
  const [outcome, setOutcome] = useState<Shown>()
  const [isBusy, setBusy] = useState(false)
  const field = useRef<HTMLInputElement>(null)
  const webhook: Webhook | null | undefined = loaded.value?.webhook

  const say = (isGood: boolean, text: string, isUrlWrong = false): void => {
    setOutcome({ isGood, text, isUrlWrong })
    // A failure is an alert, which is announced by itself.
    if (isGood) announce(text)
  }
  /** Runs one action at a time; it returns what to say. */
  const attempt = async (action: () => Promise<Outcome>): Promise<void> => {
    if (isBusy) return
    setBusy(true)
    setOutcome(undefined)
    try {
      const { isGood, text } = await action()
      await loaded.reload()
      say(isGood, text)
    } catch (error) {
      say(false, toMessage(error), error instanceof ApiFailure && error.code === 'wrongInput')
    }
    setBusy(false)
  }
  const save = (): Promise<void> =>
    attempt(async () => {
      const { secret: made } = await api.setWebhook(accessId, typed ?? webhook?.url ?? '')
      secret.show(made)
      setTyped(undefined)
      return {
        isGood: true,
        text: 'Saved. Copy the new signing secret to the receiver, then send a test.',
      }
    })
  const test = (): Promise<void> =>
    attempt(async () => {
      const { status, problem, elapsedMs } = await api.testWebhook(accessId)
      return problem === ''
        ? { isGood: true, text: `The receiver answered ${status} in ${elapsedMs} ms.` }
        : { isGood: false, text: `The test failed after ${elapsedMs} ms: ${problem}.` }
    })
  const resume = (): Promise<void> =>
    attempt(async () => {
      await api.resumeWebhook(accessId)
      return { isGood: true, text: 'Warnings are sent again.' }
    })
  const remove = async (): Promise<void> => {
    await api.removeWebhook(accessId)
    secret.show(undefined)
    setTyped(undefined)
    await loaded.reload()
    say(true, 'Removed. Nothing is sent any more.')
    field.current?.focus()
  }
  return {
    webhook,
    failure: loaded.failure,
    reload: loaded.reload,
    secret,
    url: typed ?? webhook?.url ?? '',
    edit: (text: string) => {
      setTyped(text)
      setOutcome(undefined)
    },
    outcome,
    isBusy,
    field,
    save,
    test,
    resume,
    remove,
  }
}

export type WebhookControl = ReturnType<typeof useWebhook>
