// The page of who is not signed in: how one comes in, and why one is out.
import { useEffect, useRef } from 'preact/hooks';
import { html } from './html.js';
import { Outdated } from './outdated.js';
import { Password } from './password.js';
import { look, session, signIn } from './session.js';

const reasons = {
	restarted: 'The head was started again, which signs everybody out. Nothing that you ordered is lost.',
	ended: 'Your session has ended: after two hours without anything done, after twelve in any case, or because you ended it elsewhere.',
	left: 'You are signed out.',
	unreachable: 'The head does not answer.',
};

function Way() {
	return html`<p>Ask for a link on the head, and open it within a minute; over SSH, too:</p>
		<pre class="command" tabindex="0">ssh HEAD phx portal</pre>
		<p class="quiet">It is good once, and signs you in as the user of the head that you are there. Who has a certificate of the site
			in this browser needs none.</p>`;
}

function Out({ why, error, passwords }) {
	const said = reasons[why] ?? error;
	return html`<h1>Sign in</h1>
		${said && html`<p class="notice" role="status">${said}</p>`}
		<${Outdated} />
		${passwords && html`<${Password} /><h2>Or by a link</h2>`}
		<${Way} />
		<p><button type="button" onClick=${look}>I am signed in: look again</button></p>`;
}

function Offered({ identity, word }) {
	const button = useRef(null);
	useEffect(() => button.current?.focus(), []);
	return html`<h1>Sign in</h1>
		<p>This link signs you in as</p>
		<p class="identity">${identity}</p>
		<p><button type="button" class="main" ref=${button} onClick=${() => signIn(word)}>Sign in as ${identity}</button></p>
		<p class="quiet">If that is not you, somebody else sent you this link: close the page.</p>`;
}

export function SignIn() {
	const s = session.value;
	return html`<main class="door">
		<p class="brand">Phoenix</p>
		${s.phase === 'asking' && html`<p role="status">Asking the head …</p>`}
		${s.phase === 'out' && html`<${Out} ...${s} />`}
		${s.phase === 'offered' && html`<${Offered} ...${s} />`}
	</main>`;
}
