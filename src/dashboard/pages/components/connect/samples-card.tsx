import { useEffect, useMemo, useState } from 'preact/hooks'
import { useMayChange } from '../../hooks/context.js'
import { RunSample } from './run-sample.js'
import { SecretField } from './secret-field.js'
import { Segments } from '../shared/segments.js'
import {
  fillSample,
  sampleCallsFor,
  SAMPLE_LANGUAGES,
  type SampleCall,
} from '../../lib/sample-text.js'
import type { SecretView } from '../../hooks/use-secret.js'
import type { ActivePanel } from '../../lib/wire.js'

type Samples = { sampleOf(call: string, file: string): string }

/** The texts of all samples, loaded as a script of their own when they are first shown. */
const useSamples = () => {
  const [samples, setSamples] = useState<Samples>()
  const [hasFailed, setFailed] = useState(false)
  useEffect(() => {
    import('../../lib/samples.js').then(setSamples, () => setFailed(true))
  }, [])
  return { samples, hasFailed }
}

/** Code that uses the token, to copy with its real URLs. */
export const SamplesCard = ({
  panel,
  secret,
}: {
  readonly panel: ActivePanel
  readonly secret: SecretView
}) => {
  const [call, setCall] = useState<SampleCall>('read')
  const [languageId, setLanguageId] = useState<string>('curl')
  const { samples, hasFailed } = useSamples()
  const calls = sampleCallsFor(panel.submissionRoutes)
  const language = SAMPLE_LANGUAGES.find(({ id }) => id === languageId) ?? SAMPLE_LANGUAGES[0]
  // Traffic of one account slows its writers down, so each sample names another one.
  const share = useMemo(() => Math.random(), [call, languageId])
  const text = samples?.sampleOf(call, language.file) ?? ''
  const callName = calls.find(({ id }) => id === call)?.name.toLowerCase() ?? ''
  const mayCall = useMayChange()
  return (
    <section class="card" aria-labelledby="samples-heading">
      <div class="card-head">
        <h2 id="samples-heading">Code samples</h2>
        <div class="card-tools">
          <Segments
            legend="Call"
            options={calls}
            chosen={call}
            onChoose={id => setCall(calls.find(one => one.id === id)?.id ?? 'read')}
          />
          <Segments
            legend="Language"
            options={SAMPLE_LANGUAGES}
            chosen={languageId}
            onChoose={setLanguageId}
          />
        </div>
      </div>
      {hasFailed && (
        <p class="field-error" role="alert">
          The samples could not be loaded. Reload the page to see them.
        </p>
      )}
      <SecretField
        key={`${call}/${languageId}`}
        name={`${callName} sample for ${language.name}`}
        isCode
        masked={fillSample(text, panel, call, panel, share)}
        toText={urls => fillSample(text, urls, call, panel, share)}
        secret={secret}
      />
      {call === 'read' && mayCall && <RunSample secret={secret} />}
    </section>
  )
}
