import type { AccessTab, Tab } from '../lib/route.js'

/** How tabs are called. */
export const TAB_NAMES: Readonly<Record<Tab | AccessTab, string>> = {
  connect: 'Connect',
  usage: 'Usage',
  submissions: 'Submissions',
  machines: 'Machines',
  settings: 'Settings',
}

/** The tab bar. Arrow keys move between tabs. */
export const Tabs = <T extends Tab | AccessTab>({
  label,
  tabs,
  chosen,
  onChoose,
}: {
  readonly label: string
  readonly tabs: readonly T[]
  readonly chosen: T
  readonly onChoose: (tab: T) => void
}) => {
  const move = (event: KeyboardEvent): void => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
    if (step === undefined) return
    event.preventDefault()
    const next = tabs[(tabs.indexOf(chosen) + step + tabs.length) % tabs.length] ?? chosen
    onChoose(next)
    document.getElementById(`tab-${next}`)?.focus()
  }
  return (
    <div class="tabs" role="tablist" aria-label={label} onKeyDown={move}>
      {tabs.map(tab => (
        <button
          key={tab}
          type="button"
          role="tab"
          id={`tab-${tab}`}
          aria-selected={tab === chosen}
          aria-controls="tab-panel"
          tabIndex={tab === chosen ? 0 : -1}
          onClick={() => onChoose(tab)}
        >
          {TAB_NAMES[tab]}
        </button>
      ))}
    </div>
  )
}
