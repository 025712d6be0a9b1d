// Who is signed in: identity, roles and by which way he has them, and what he may.
import { html } from './html.js';
import { MySessions } from './my_sessions.js';
import { session } from './session.js';

const ways = { root: 'root of the head', group: 'group', certificate: 'certificate', grant: 'granted by' };
const reach = { all: 'everything', own: 'what is yours', '-': 'nothing' };

function Ways({ list }) {
	if (!list.length)
		return html`<p>Every person of the head is a user.</p>`;
	return html`<table><caption>Roles</caption>
		<thead><tr><th scope="col">Role</th><th scope="col">By</th></tr></thead>
		<tbody>${list.map((w) => html`<tr key=${w.role + w.way}><td>${w.role}</td><td>${ways[w.way] ?? w.way} ${w.of}</td></tr>`)}</tbody></table>`;
}

function Rights({ rights }) {
	return html`<table><caption>Rights</caption>
		<thead><tr><th scope="col">Right</th><th scope="col">Goes for</th></tr></thead>
		<tbody>${Object.entries(rights).filter(([, to]) => to !== '-').map(([name, to]) => html`<tr key=${name}><td><code>${name}</code></td><td>${reach[to]}</td></tr>`)}</tbody></table>`;
}

export function Me() {
	const { who, byCertificate } = session.value;
	return html`<h1>You</h1>
		<p class="identity" id="identity">${who.identity}</p>
		<p class="quiet">${byCertificate ? 'By the certificate of your browser.' : 'Signed in with a browser as a user of the head.'}
			${who.login && ` Your jobs run as ${who.login}.`} The head writes down what you do as ${who.by}.</p>
		<div class="columns"><${Ways} list=${who.ways} /><${Rights} rights=${who.rights} /></div>
		${!byCertificate && html`<${MySessions} />`}`;
}
