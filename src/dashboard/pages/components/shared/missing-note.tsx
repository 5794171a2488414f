/** Names the machines whose part the shown numbers lack. */
export const MissingNote = ({ missing }: { readonly missing: readonly string[] | undefined }) =>
  missing === undefined || missing.length === 0 ? null : (
    <p class="muted">
      Without {missing.join(', ')}: {missing.length === 1 ? 'it' : 'they'} did not answer.
    </p>
  )
