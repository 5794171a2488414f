import { useRef, useState } from 'preact/hooks'
import { ApiFailure } from '../../lib/api.js'
import { useServices } from '../../hooks/context.js'
import { copyText } from '../../lib/copy-text.js'
import { Icon } from './icon.js'
import { useCopied } from '../../hooks/use-copied.js'
import { toMessage } from '../../hooks/use-loaded.js'

const BLOCKED =
  'Your browser does not allow copying here. The value is selected; copy it with Ctrl+C.'

/** Reveals and hides a masked value. */
export type Reveal = { readonly isShown: boolean; readonly toggle: () => Promise<void> }

type Options = {
  readonly name: string
  /** Several lines of code, all of which are shown. */
  readonly isCode?: boolean
  /** The displayed text. */
  readonly value: string
  /** The text to copy. */
  readonly getText: () => Promise<string>
  readonly reveal?: Reveal
}

/** Copies the value, and explains a failure next to it. */
const useValue = ({ name, getText, reveal }: Pick<Options, 'name' | 'getText' | 'reveal'>) => {
  const { announce } = useServices()
  const [isCopied, markCopied] = useCopied()
  const [problem, setProblem] = useState<string>()
  const field = useRef<HTMLInputElement & HTMLTextAreaElement>(null)
  const isMasked = reveal !== undefined && !reveal.isShown

  const toggle = async (): Promise<void> => {
    setProblem(undefined)
    try {
      await reveal?.toggle()
      announce(isMasked ? `${name} shown` : `${name} hidden`)
    } catch (error) {
      setProblem(toMessage(error))
    }
  }
  const explain = async (text: Promise<string>): Promise<void> => {
    const failure = await text.then(
      () => undefined,
      (error: unknown) => error,
    )
    if (failure instanceof ApiFailure) return setProblem(failure.message)
    // The browser denies access to the clipboard, so the value is shown and selected.
    if (isMasked) await toggle()
    field.current?.select()
    setProblem(BLOCKED)
  }
  const copy = async (): Promise<void> => {
    setProblem(undefined)
    const text = getText()
    try {
      await copyText(text)
      markCopied()
      announce(`${name} copied`)
    } catch {
      await explain(text)
    }
  }
  return { isCopied, isMasked, problem, field, toggle, copy }
}

/** A value with a copy button. Its box keeps its size. */
export const ValueField = (options: Options) => {
  const { name, isCode = false, value, reveal } = options
  const { isCopied, isMasked, problem, field, toggle, copy } = useValue(options)
  const attributes = {
    ref: field,
    readOnly: true,
    autoComplete: 'off',
    spellcheck: false,
    'aria-label': isMasked ? `${name}, masked` : name,
    value,
  } as const
  return (
    <div class="value">
      {isCode ? (
        <textarea
          {...attributes}
          class="value-text is-code"
          wrap="off"
          rows={value.trimEnd().split('\n').length}
        />
      ) : (
        <input {...attributes} class="value-text" />
      )}
      <div class="value-buttons">
        {reveal !== undefined && (
          <button
            type="button"
            class="button is-icon"
            aria-label={isMasked ? `Reveal ${name}` : `Hide ${name}`}
            onClick={() => void toggle()}
          >
            <Icon name={isMasked ? 'eye' : 'eyeOff'} />
          </button>
        )}
        <button type="button" class="button is-copy" onClick={() => void copy()}>
          <Icon name={isCopied ? 'check' : 'copy'} />
          {isCopied ? 'Copied' : 'Copy'}
          <span class="unseen"> {name}</span>
        </button>
      </div>
      {problem !== undefined && (
        <p class="field-error" role="alert">
          {problem}
        </p>
      )}
    </div>
  )
}
