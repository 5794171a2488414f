import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { Icon } from './shared/icon.js'

type Named = { readonly name: string }

/** What is chosen of an access. */
export const nameOfScope = (network: Named | undefined, location: Named | undefined): string =>
  location === undefined ? 'All locations' : `${network?.name} · ${location.name}`

/** Folds the choices in a narrow window. */
const FoldButton = (options: {
  readonly isFolded: boolean
  readonly onClick: () => void
  readonly children: ComponentChildren
}) => (
  <button
    type="button"
    class="fold"
    aria-expanded={!options.isFolded}
    aria-controls="choices"
    onClick={options.onClick}
  >
    <span>{options.children}</span>
    {options.isFolded ? 'Change' : 'Done'}
    <Icon name={options.isFolded ? 'down' : 'up'} />
  </button>
)

/** What is folded in a narrow window after something is chosen. */
const useFold = (isShown: boolean) => {
  const [isChoosing, setChoosing] = useState(false)
  const isFolded = isShown && !isChoosing
  const foldAfterTap = (event: MouseEvent): void => {
    if (!(event.target instanceof HTMLInputElement) || event.target.type !== 'radio') return
    // Arrow keys cause clicks with no count. They keep the list open, and so does an access, whose
    // locations come next.
    const isOpen = event.detail === 0 || event.target.name !== 'location'
    // After the change of the radio button, which a fold before it would undo.
    setTimeout(() => setChoosing(isOpen))
  }
  return { isFolded, toggle: () => setChoosing(isFolded), foldAfterTap }
}

/** What can be chosen beside the page; in a narrow window folded to what is chosen, if any. */
export const Choices = ({
  of: chosen,
  children,
}: {
  readonly of: string | undefined
  readonly children: ComponentChildren
}) => {
  const { isFolded, toggle, foldAfterTap } = useFold(chosen !== undefined)
  return (
    <>
      {chosen !== undefined && (
        <FoldButton isFolded={isFolded} onClick={toggle}>
          {chosen}
        </FoldButton>
      )}
      <div id="choices" class={isFolded ? 'side is-folded' : 'side'} onClick={foldAfterTap}>
        {children}
      </div>
    </>
  )
}
