// The sessions of who is signed in: from where and since when; each can be ended, one that somebody stole among them.
import { useEffect, useState } from 'preact/hooks';
import { get, post } from './api.js';
import { html } from './html.js';
import { look } from './session.js';
import { moment, took } from './words.js';

const ways = { link: 'a link', password: 'password' };
const browsers = [['Edg/', 'Edge'], ['OPR/', 'Opera'], ['Firefox/', 'Firefox'], ['Chrome/', 'Chromium'], ['Safari/', 'Safari']];
const systems = [['Android', 'Android'], ['iPhone', 'iPhone'], ['iPad', 'iPad'], ['Windows', 'Windows'], ['Mac OS', 'macOS'], ['Linux', 'Linux']];

function browserOf(said) {
	const find = (list) => list.find(([word]) => said.includes(word))?.[1];
	const browser = find(browsers);
	return browser ? `${browser}${find(systems) ? ` on ${find(systems)}` : ''}` : said.slice(0, 40) || 'it does not say';
}

export function MySessions() {
	const [list, setList] = useState(null);
	const [said, setSaid] = useState('');
	const read = () => get('/v1/sessions', { watch: true }).then((a) => setList(a.sessions), (e) => setSaid(e.message));
	useEffect(() => { read(); }, []);
	const end = (s) => post(`/v1/sessions/${s.id}/end`).then(s.here ? look : read, (e) => setSaid(e.message));
	return html`<section aria-label="Sessions"><h2>Sessions</h2>
		<p class="quiet">Where you are signed in with a browser. One that you do not know, or that was used from somewhere else than it began, may be somebody
			else's: end it. On the head phx portal --sign-out ends all of them.</p>
		${said && html`<p class="trouble" role="alert">${said}</p>`}
		${list && html`<table><caption class="heard">Your sessions</caption>
			<thead><tr><th scope="col">Begun</th><th scope="col">From</th><th scope="col">Browser</th><th scope="col">Used last</th><th scope="col">By</th><th scope="col">End</th></tr></thead>
			<tbody>${list.map((s) => html`<tr key=${s.id}><td>${moment(s.began_ms)}</td>
				<td>${s.address}${s.used_at !== s.address && html`<br /><b class="bad">used from ${s.used_at}</b>`}</td><td title=${s.browser}>${browserOf(s.browser)}</td>
				<td>${s.here ? 'this page' : `${took(Math.max(0, Date.now() - s.used_ms))} ago`}</td><td>${ways[s.by] ?? s.by}</td>
				<td><button type="button" onClick=${() => end(s)} aria-label=${s.here ? 'End it: this session' : `End it: the session from ${s.address}, begun ${moment(s.began_ms)}`}>End it</button></td></tr>`)}</tbody></table>`}
		</section>`;
}
