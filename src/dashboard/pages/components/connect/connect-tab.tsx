import type { RefObject } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { ActiveToken } from './active-token.js'
import { ApiFailure, type TokenScope } from '../../lib/api.js'
import { confirmRegenerate, confirmRevoke } from './confirmations.js'
import { ConfirmDialog, type Confirmation } from './confirm-dialog.js'
import { toEffectText } from '../../lib/effect-text.js'
import { formatSpan } from '../../lib/format.js'
import { OverlapChoice } from './overlap.js'
import { NoToken } from './no-token.js'
import { ResultNotice, type Result } from './result-notice.js'
import { Managed } from '../shared/managed.js'
import { takeResumed } from '../../lib/return.js'
import { useServices } from '../../hooks/context.js'
import { toMessage } from '../../hooks/use-loaded.js'
import type { Access, Panel } from '../../lib/wire.js'

const CHANGED_ELSEWHERE =
  'This token was changed in another tab or by someone else. The page now shows its current state.'

const SIGNED_IN_AGAIN = 'You are signed in again. You can reveal and copy the token now.'

/** Whether the displayed state is outdated. */
const isOutdated = (error: unknown): boolean =>
  error instanceof ApiFailure && (error.status === 404 || error.status === 409)

type Options = {
  readonly access: Access
  readonly scope: TokenScope
  readonly locationName: string
  readonly panel: Panel
  readonly heading: RefObject<HTMLHeadingElement | null>
  /** Resolves when the displayed state is current. */
  readonly onChanged: () => Promise<void>
}

/** Changes the token, and keeps the result of the last change. */
const useTokenChanges = ({ scope, locationName, heading, onChanged }: Options) => {
  const { api, announce } = useServices()
  const [isBusy, setBusy] = useState(false)
  const [result, setResult] = useState<Result>()
  const hasChanged = useRef(false)

  const show = (isGood: boolean, text: string): void => {
    setResult({ isGood, text })
    announce(text)
  }

  /** If the displayed state was outdated, shows the current one instead of an error. */
  const apply = async (change: () => Promise<string>): Promise<void> => {
    try {
      show(true, await change())
    } catch (error) {
      if (!isOutdated(error)) throw error
      show(false, CHANGED_ELSEWHERE)
    }
    hasChanged.current = true
    await onChanged()
  }
  const showCurrent = (): void => {
    show(false, CHANGED_ELSEWHERE)
    void onChanged()
  }

  const generate = async (): Promise<void> => {
    if (isBusy) return
    const pressed = document.activeElement
    setBusy(true)
    try {
      await apply(async () => {
        await api.generate(scope)
        return `The token for ${locationName} is active. Its URLs work now.`
      })
      // The pressed button goes when the panel is loaded, which may be before the list of accesses
      // is: a focus that the user has moved meanwhile stays.
      const { activeElement, body } = document
      if (activeElement === body || activeElement === pressed) heading.current?.focus()
    } catch (error) {
      show(false, toMessage(error))
      // After a timeout the change may have been made.
      void onChanged()
    }
    setBusy(false)
  }
  return { isBusy, result, setResult, hasChanged, apply, showCurrent, generate }
}

/** The question before the token is regenerated, which `show` replaces with each other choice. */
const toRegeneration = (
  locationName: string,
  overlapSeconds: number,
  regenerate: (overlapSeconds: number) => Promise<void>,
  show: (next: Confirmation) => void,
): Confirmation => ({
  ...confirmRegenerate(locationName, overlapSeconds),
  choice: (
    <OverlapChoice
      seconds={overlapSeconds}
      onChange={next => show(toRegeneration(locationName, next, regenerate, show))}
    />
  ),
  run: () => regenerate(overlapSeconds),
})

/** The tab to generate, use, restrict, regenerate and revoke the token of a scope. */
export const ConnectTab = (options: Options) => {
  const { access, scope, locationName, panel, heading, onChanged } = options
  const { api } = useServices()
  const [confirmation, setConfirmation] = useState<Confirmation>()
  const { isBusy, result, setResult, hasChanged, apply, showCurrent, generate } =
    useTokenChanges(options)

  const replace = (overlapSeconds: number): Promise<void> =>
    apply(async () => {
      const effect = toEffectText(await api.regenerate(scope, overlapSeconds))
      const isDead = `is ${effect === '' ? 'invalid' : effect}`
      const ends =
        overlapSeconds === 0 ? isDead : `works for ${formatSpan(overlapSeconds * 1_000)} more`
      return `The new token works, and the old one ${ends}. Copy the new URLs to every service that used the old ones.`
    })
  const regenerate = toRegeneration(locationName, 0, replace, setConfirmation)
  const endFormer = (): Promise<void> =>
    apply(async () => {
      const effect = toEffectText(await api.endFormer(scope))
      return `The former token is ${effect === '' ? 'invalid' : effect}.`
    }).catch((error: unknown) => setResult({ isGood: false, text: toMessage(error) }))
  const revoke: Confirmation = {
    ...confirmRevoke(locationName, access.kind),
    run: () =>
      apply(async () => {
        const effect = toEffectText(await api.revoke(scope))
        const isDead = effect === '' ? 'revoked' : `revoked, ${effect}`
        return `The token is ${isDead}. ${locationName} has no working token now.`
      }),
  }
  const ask = (next: Confirmation): void => {
    hasChanged.current = false
    setConfirmation(next)
  }
  useEffect(() => {
    const resumed = takeResumed()
    if (resumed === 'regenerate' && panel.token !== null) ask(regenerate)
    else if (resumed !== undefined) setResult({ isGood: true, text: SIGNED_IN_AGAIN })
  }, [])
  const close = (): void => {
    setConfirmation(undefined)
    // The button that opened the dialog may be removed, so the focus moves to the heading.
    if (hasChanged.current) heading.current?.focus()
  }

  return (
    <div class="stack">
      {result !== undefined && (
        <ResultNotice
          result={result}
          onDismiss={() => {
            setResult(undefined)
            heading.current?.focus()
          }}
        />
      )}
      <Managed>
        {panel.token === null ? (
          <NoToken
            access={access}
            locationName={locationName}
            isBusy={isBusy}
            onGenerate={() => void generate()}
          />
        ) : (
          <ActiveToken
            key={panel.token.tokenId}
            scope={scope}
            panel={panel}
            onRegenerate={() => ask(regenerate)}
            onRevoke={() => ask(revoke)}
            onEndFormer={() => void endFormer()}
            onChanged={onChanged}
            onOutdated={showCurrent}
            canReplace={access.state === 'active'}
          />
        )}
      </Managed>
      {confirmation !== undefined && <ConfirmDialog confirmation={confirmation} onClose={close} />}
    </div>
  )
}
