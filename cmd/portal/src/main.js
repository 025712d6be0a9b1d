// Begins: who is not signed in sees the door, who is sees the pages.
import { render } from 'preact';
import { html } from './html.js';
import { begin, session } from './session.js';
import { Shell } from './shell.js';
import { SignIn } from './sign_in.js';
import { useSubject } from './subject.js';

function App() {
	return useSubject(session).phase === 'in' ? html`<${Shell} />` : html`<${SignIn} />`;
}

render(html`<${App} />`, document.getElementById('app'));
begin();
