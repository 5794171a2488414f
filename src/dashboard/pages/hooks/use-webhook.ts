import { useEffect, useRef, useState } from 'preact/hooks'
import { ApiFailure } from '../lib/api.js'
import type { Webhook } from '../lib/wire.js'
import { useServices } from './context.js'
import { toMessage } from './use-loaded.js'

/** How long a signing secret is shown. */
const SHOWN_MS = 60_000

type Outcome = { readonly isGood: boolean; readonly text: string }
/** What is wrong: the URL in the field, or something else. */
type Shown = Outcome & { readonly isUrlWrong: boolean }

/** The signing secret: requested when it is needed, and kept only while it is shown. */
const useSigningSecret = (accessId: string, webhookId: string, made: string | undefined) => {
  const { api } = useServices()
  const [secret, setSecret] = useState<string>()
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  const show = (text: string | undefined): void => {
    clearTimeout(timer.current)
    setSecret(text)
    if (text !== undefined) timer.current = setTimeout(() => setSecret(undefined), SHOWN_MS)
  }
  useEffect(() => {
    if (made !== undefined) show(made)
    return () => clearTimeout(timer.current)
  }, [])
  const get = async (): Promise<string> =>
    secret ?? (await api.revealWebhookSecret(accessId, webhookId)).secret
  const toggle = async (): Promise<void> => show(secret === undefined ? await get() : undefined)
  return { secret, show, get, toggle }
}

const SAVED = 'Saved. Copy the new signing secret to the receiver, then send a test.'

/** A new webhook, and its secret that is shown once. */
export type MadeWebhook = { readonly webhookId: string; readonly secret: string }

type Props = {
  readonly accessId: string
  readonly webhook: Webhook | undefined
  /** The secret of one that was just added. */
  readonly made: string | undefined
  readonly reload: () => Promise<void>
  readonly onMade: (made: MadeWebhook) => void
}

/** A webhook of an access, or one that is still to be added, and what can be done with it. */
export const useWebhook = ({ accessId, webhook, made, reload, onMade }: Props) => {
  const { api, announce } = useServices()
  const webhookId = webhook?.webhookId ?? ''
  const secret = useSigningSecret(accessId, webhookId, made)
  const [typed, setTyped] = useState<string>()
  const [outcome, setOutcome] = useState<Shown | undefined>(
    made === undefined ? undefined : { isGood: true, text: SAVED, isUrlWrong: false },
  )
  const [isBusy, setBusy] = useState(false)
  const field = useRef<HTMLInputElement>(null)

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
      await reload()
      say(isGood, text)
    } catch (error) {
      say(false, toMessage(error), error instanceof ApiFailure && error.code === 'wrongInput')
    }
    setBusy(false)
  }
  const save = (): Promise<void> =>
    attempt(async () => {
      const url = typed ?? webhook?.url ?? ''
      if (webhook === undefined) {
        const added = await api.addWebhook(accessId, url)
        onMade({ webhookId: added.webhook.webhookId, secret: added.secret })
      } else secret.show((await api.replaceWebhook(accessId, webhookId, url)).secret)
      setTyped(undefined)
      return { isGood: true, text: SAVED }
    })
  const test = (): Promise<void> =>
    attempt(async () => {
      const { status, problem, elapsedMs } = await api.testWebhook(accessId, webhookId)
      return problem === ''
        ? { isGood: true, text: `The receiver answered ${status} in ${elapsedMs} ms.` }
        : { isGood: false, text: `The test failed after ${elapsedMs} ms: ${problem}.` }
    })
  const resume = (): Promise<void> =>
    attempt(async () => {
      await api.resumeWebhook(accessId, webhookId)
      return { isGood: true, text: 'Alerts are sent again.' }
    })
  const remove = async (): Promise<void> => {
    await api.removeWebhook(accessId, webhookId)
    secret.show(undefined)
    announce('Removed. Nothing is sent to it any more.')
    await reload()
  }
  return {
    webhook,
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
