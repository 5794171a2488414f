import { TABS, type Tab } from '../lib/route.js'

const NAMES: Readonly<Record<Tab, string>> = {
  connect: 'Connect',
  usage: 'Usage',
  submissions: 'Submissions',
}

/** The tab bar. Arrow keys move between tabs. */
export const Tabs = ({
  chosen,
  onChoose,
}: {
  readonly chosen: Tab
  readonly onChoose: (tab: Tab) => void
}) => {
  const move = (event: KeyboardEvent): void => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
    if (step === undefined) return
    event.preventDefault()
    const next = TABS[(TABS.indexOf(chosen) + step + TABS.length) % TABS.length] ?? chosen
    onChoose(next)
    document.getElementById(`tab-${next}`)?.focus()
  }
  return (
    <div class="tabs" role="tablist" aria-label="Location" onKeyDown={move}>
      {TABS.map(tab => (
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
