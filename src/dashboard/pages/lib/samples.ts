/// <reference types="vite/client" />

/** The samples of the documentation, with placeholders: tests run the same files. */
const FILES = import.meta.glob<string>('../../../../docs/samples/*/*', {
  query: '?raw',
  import: 'default',
  eager: true,
})

/** The text of a sample, by the names of its folder and its file. */
export const sampleOf = (call: string, file: string): string =>
  FILES[`../../../../docs/samples/${call}/${file}`] ?? ''
