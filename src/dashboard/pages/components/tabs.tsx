import type { Tab } from '../lib/route.js'

const NAMES: Readonly<Record<Tab, string>> = {
  connect: 'Connect',
  usage: 'Usage',
  submissions: 'Submissions',
  machines: 'Machines',
}

/** The tab bar. Arrow keys move between tabs. */
export const Tabs = ({
  tabs,
  chosen,
  onChoose,
}: {
  readonly tabs: readonly Tab[]
  readonly chosen: Tab
  readonly onChoose: (tab: Tab) => void
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
    <div class="tabs" role="tablist" aria-label="Location" onKeyDown={move}>
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
          {NAMES[tab]}
        </button>
      ))}
    </div>
  )
}
