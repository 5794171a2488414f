import { ValueField } from '../shared/value-field.js'
import type { SecretView } from '../../hooks/use-secret.js'
import type { TokenSecret } from '../../lib/wire.js'

/**
 * A value that contains the token. It is masked until it is revealed, and always copied in full.
 */
export const SecretField = ({
  name,
  isCode,
  masked,
  toText,
  secret,
}: {
  readonly name: string
  /** Several lines of code. */
  readonly isCode?: boolean
  readonly masked: string
  readonly toText: (secret: TokenSecret) => string
  readonly secret: SecretView
}) => {
  const shown = secret.shown(name)
  return (
    <ValueField
      name={name}
      isCode={isCode === true}
      value={shown === undefined ? masked : toText(shown)}
      getText={async () => toText(await secret.get())}
      reveal={{ isShown: shown !== undefined, toggle: () => secret.toggle(name) }}
    />
  )
}
