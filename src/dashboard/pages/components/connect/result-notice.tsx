import { Icon } from '../shared/icon.js'

/** The result of the last change. */
export type Result = { readonly isGood: boolean; readonly text: string }

/** Shows a result until it is dismissed. */
export const ResultNotice = ({
  result: { isGood, text },
  onDismiss,
}: {
  readonly result: Result
  readonly onDismiss: () => void
}) => (
  <div class={`notice ${isGood ? 'is-good' : 'is-warning'}`}>
    <Icon name={isGood ? 'check' : 'warning'} />
    <p>{text}</p>
    <button type="button" class="button is-quiet is-icon" aria-label="Dismiss" onClick={onDismiss}>
      <Icon name="cross" />
    </button>
  </div>
)
