import { Icon } from './icon.js'

/** An error message with a button to try again. */
export const Failure = ({
  message,
  onRetry,
}: {
  readonly message: string
  readonly onRetry: () => void
}) => (
  <div class="notice is-danger" role="alert">
    <Icon name="warning" />
    <p>{message}</p>
    <button type="button" class="button" onClick={onRetry}>
      Try again
    </button>
  </div>
)
