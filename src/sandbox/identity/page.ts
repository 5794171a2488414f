const escapeHtml = (text: string): string =>
  text.replace(/[&<>"']/g, sign => `&#${sign.charCodeAt(0)};`)

const STYLE = `
  :root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif }
  body { display: grid; min-height: 100vh; margin: 0; place-items: center; padding: 1rem }
  form { display: grid; gap: 1rem; width: min(22rem, 90vw) }
  label { display: grid; gap: .25rem }
  input, button { font: inherit; padding: .6rem .75rem }
  .wrong { color: light-dark(#b3261e, #ffb4ab) }`

const formatPage = (title: string, main: string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
${main}
</main>
</body>
</html>
`

/** Asks whether to end the session. `form` is a form of the library: hidden, `op.logoutForm`. */
export const formatSignOutPage = (form: string): string =>
  formatPage(
    'Sandbox sign-out',
    `<h1>Sign out of the sandbox?</h1>
${form}
<p><button form="op.logoutForm" name="logout" value="yes" autofocus>Sign out</button>
<button form="op.logoutForm">Stay signed in</button></p>`,
  )

/** The sign-in page. */
export const formatSignInPage = (parts: {
  readonly action: string
  readonly email: string
  readonly isWrong: boolean
}): string =>
  formatPage(
    'Sandbox sign-in',
    `<form method="post" action="${escapeHtml(parts.action)}">
<h1>Sandbox sign-in</h1>
<p>Email addresses and passwords are in sandbox.json, under <code>identity</code>.</p>
${parts.isWrong ? '<p class="wrong" role="alert">Unknown user or wrong password.</p>' : ''}
<label>Email address
<input name="email" type="email" autocomplete="username" required autofocus value="${escapeHtml(parts.email)}"></label>
<label>Password
<input name="password" type="password" autocomplete="current-password" required></label>
<button name="choice" value="sign-in">Sign in</button>
<button name="choice" value="cancel" formnovalidate>Cancel</button>
</form>`,
  )
