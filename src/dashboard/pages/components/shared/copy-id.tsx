import { useServices } from '../../hooks/context.js'
import { copyText } from '../../lib/copy-text.js'
import { Icon } from './icon.js'
import { useCopied } from '../../hooks/use-copied.js'

/** How many characters of each end are shown. */
const HEAD_CHARS = 8
const TAIL_CHARS = 6

export const shortId = (id: string): string => `${id.slice(0, HEAD_CHARS)}…${id.slice(-TAIL_CHARS)}`

/** An id, abbreviated unless it is shown whole, which a click copies in full. */
export const CopyId = ({
  name,
  id,
  isWhole = false,
}: {
  readonly name: string
  readonly id: string
  readonly isWhole?: boolean
}) => {
  const { announce } = useServices()
  const [isCopied, markCopied] = useCopied()
  const copy = async (): Promise<void> => {
    try {
      await copyText(Promise.resolve(id))
      markCopied()
      announce(`${name} copied`)
    } catch {
      announce(`Your browser does not allow copying here. The ${name} is ${id}`)
    }
  }
  return (
    <button
      type="button"
      class={`copy-id ${isWhole ? 'is-whole' : ''}`}
      title={id}
      onClick={() => void copy()}
    >
      <span class="unseen">Copy {name} </span>
      <code>{isWhole ? id : shortId(id)}</code>
      <Icon name={isCopied ? 'check' : 'copy'} />
    </button>
  )
}
