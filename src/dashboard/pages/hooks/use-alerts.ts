import { useState } from 'preact/hooks'
import { KIND_NAMES } from '../lib/alerts/alert-text.js'
import type { AlertRule, WantedAlertRule, Webhook } from '../lib/wire.js'
import { useServices } from './context.js'
import { toMessage, useLoaded } from './use-loaded.js'

/** How often the rules are loaded again. */
const REFRESH_MS = 30_000

type Outcome = { readonly isGood: boolean; readonly text: string }

/** The alert rules of an access, and what can be done with them. */
export const useAlerts = (accessId: string) => {
  const { api, announce } = useServices()
  const loaded = useLoaded(accessId, () => api.alerts(accessId), REFRESH_MS)
  const [edited, setEdited] = useState<string>()
  const [outcome, setOutcome] = useState<Outcome>()
  const [isBusy, setBusy] = useState(false)
  const rules = loaded.value?.rules ?? []

  /** Runs one action at a time; it returns what to say. */
  const attempt = async (action: () => Promise<Outcome>): Promise<void> => {
    if (isBusy) return
    setBusy(true)
    setOutcome(undefined)
    try {
      const done = await action()
      await loaded.reload()
      setOutcome(done)
      // A failure is an alert, which is announced by itself.
      if (done.isGood) announce(done.text)
    } catch (error) {
      setOutcome({ isGood: false, text: toMessage(error) })
    }
    setBusy(false)
  }
  const save = (changed: readonly WantedAlertRule[], text: string): Promise<void> =>
    attempt(async () => {
      await api.setAlerts(accessId, changed)
      setEdited(undefined)
      return { isGood: true, text }
    })
  return {
    rules: loaded.value?.rules,
    failure: loaded.failure,
    reload: loaded.reload,
    edited,
    edit: (ruleId: string | undefined) => {
      setEdited(ruleId)
      setOutcome(undefined)
    },
    outcome,
    isBusy,
    replace: (rule: AlertRule) =>
      save(
        rules.map(one => (one.ruleId === rule.ruleId ? rule : one)),
        `Saved: ${KIND_NAMES[rule.kind]}.`,
      ),
    add: (rule: WantedAlertRule) => save([...rules, rule], `Added: ${KIND_NAMES[rule.kind]}.`),
    remove: (rule: AlertRule) =>
      save(
        rules.filter(({ ruleId }) => ruleId !== rule.ruleId),
        `Removed: ${KIND_NAMES[rule.kind]}.`,
      ),
    /** Sends what the rule would send, to one webhook after the other. */
    test: (rule: AlertRule, webhooks: readonly Webhook[]) =>
      attempt(async () => {
        const targets = webhooks.filter(
          ({ webhookId }) => rule.webhooks === null || rule.webhooks.includes(webhookId),
        )
        if (targets.length === 0)
          return { isGood: false, text: 'This rule is sent to no webhook. Add one first.' }
        const problems: string[] = []
        for (const { webhookId, url } of targets) {
          const { problem } = await api.testWebhook(accessId, webhookId, rule.ruleId)
          if (problem !== '') problems.push(`${new URL(url).host}: ${problem}`)
        }
        return problems.length === 0
          ? { isGood: true, text: `${KIND_NAMES[rule.kind]}: the test was received.` }
          : { isGood: false, text: `The test failed. ${problems.join('; ')}.` }
      }),
  }
}

export type AlertControl = ReturnType<typeof useAlerts>
