import { useState } from 'preact/hooks'
import { useServices } from '../../hooks/context.js'
import { toMessage } from '../../hooks/use-loaded.js'
import type { ExportedFile } from '../../lib/api.js'
import { ResultNotice, type Result } from '../connect/result-notice.js'
import { Icon } from './icon.js'

const FORMATS = [
  { format: 'csv', name: 'CSV' },
  { format: 'json', name: 'JSON' },
] as const
type Format = (typeof FORMATS)[number]['format']

const save = ({ name, content }: ExportedFile): void => {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(content)
  link.download = name
  link.click()
  // The browser has begun to read it.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000)
}

const toText = ({ name, next, missing }: ExportedFile, noun: string): string => {
  const cut = next === null ? '' : ` It was cut at the limit: older ${noun} match as well.`
  const lacks =
    missing === undefined ? '' : ` It lacks ${missing.join(', ')}, which did not answer.`
  return `${name} is saved.${cut}${lacks}`
}

/** What is exported: its path below that of the access, and how it is called. */
const NOUNS = { submissions: 'submissions', failures: 'failed requests' } as const

/** Files of what matches. It says where one is not all of it, and continues it. */
export const useExport = (
  accessId: string,
  what: keyof typeof NOUNS,
  filters: Readonly<Record<string, string>>,
) => {
  const { api, announce } = useServices()
  const [saving, setSaving] = useState<Format>()
  const [result, setResult] = useState<Result>()
  const [rest, setRest] = useState<{ readonly format: Format; readonly before: string }>()
  const run = async (format: Format, before = ''): Promise<void> => {
    if (saving !== undefined) return
    setSaving(format)
    const show = (isGood: boolean, text: string): void => {
      setResult({ isGood, text })
      announce(text)
    }
    try {
      const query = { format, ...filters, ...(before === '' ? {} : { before }) }
      const file = await api.exportFile(accessId, what, query)
      save(file)
      setRest(file.next === null ? undefined : { format, before: file.next })
      show(file.next === null && file.missing === undefined, toText(file, NOUNS[what]))
    } catch (error) {
      show(false, toMessage(error))
    }
    setSaving(undefined)
  }
  const close = (): void => {
    setResult(undefined)
    setRest(undefined)
  }
  return { noun: NOUNS[what], saving, result, rest, run, close }
}

type Export = ReturnType<typeof useExport>

export const ExportButtons = ({ noun, saving, run }: Export) => (
  <div class="card-tools">
    {FORMATS.map(({ format, name }) => (
      <button
        key={format}
        type="button"
        class="button"
        aria-busy={saving === format}
        onClick={() => void run(format)}
      >
        <Icon name="down" />
        {name}
        <span class="unseen"> of the {noun} that match</span>
      </button>
    ))}
  </div>
)

/** What became of the last file, and a button for the next part. */
export const ExportNotice = ({ saving, result, rest, run, close }: Export) =>
  result === undefined ? null : (
    <>
      <ResultNotice result={result} onDismiss={close} />
      {rest !== undefined && (
        <div>
          <button
            type="button"
            class="button"
            aria-busy={saving !== undefined}
            onClick={() => void run(rest.format, rest.before)}
          >
            Save the next part
          </button>
        </div>
      )}
    </>
  )
