import { render } from 'preact'
import { App } from './components/app.js'

const root = document.getElementById('root')
if (root !== null) render(<App />, root)
