import { ValueField } from '../shared/value-field.js'
import type { SecretPart, SecretView } from '../../hooks/use-secret.js'

/**
 * A value that contains the token. It is masked until it is revealed, and always copied in full.
 */
export const SecretField = ({
  name,
  part,
  masked,
  secret,
}: {
  readonly name: string
  readonly part: SecretPart
  readonly masked: string
  readonly secret: SecretView
}) => {
  const shown = secret.shown(part)
  return (
    <ValueField
      name={name}
      value={shown ?? masked}
      getText={async () => (await secret.get())[part]}
      reveal={{ isShown: shown !== undefined, toggle: () => secret.toggle(part) }}
    />
  )
}
