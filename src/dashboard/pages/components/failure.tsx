import { Icon } from './icon.js'

/** Something could not be loaded: what, and a way to try again. */
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
