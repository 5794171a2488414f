/**
 * Copies a text that may still be loading. Passes the promise to the browser if it accepts one,
 * because some browsers allow a write only during the click event.
 */
export const copyText = async (text: Promise<string>): Promise<void> => {
  // Undefined in an insecure context, although the types do not say so.
  const clipboard: Clipboard | undefined = navigator.clipboard
  if (clipboard === undefined) throw new Error('no clipboard')
  if (typeof ClipboardItem === 'undefined') return clipboard.writeText(await text)
  const blob = text.then(value => new Blob([value], { type: 'text/plain' }))
  // If the browser gives up first, a rejection must not stay unhandled.
  blob.catch(() => {})
  await clipboard.write([new ClipboardItem({ 'text/plain': blob })])
}
