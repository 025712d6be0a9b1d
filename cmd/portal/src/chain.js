// What the head says of its journal, and what one needs to find out elsewhere whether that is so: who has the head makes it say what he likes.
import { useEffect, useState } from 'preact/hooks';
import { get } from './api.js';
import { save } from './export.js';
import { html } from './html.js';
import { moment } from './words.js';

const SHOWN = 20;

async function read(signal) {
	const [state, { anchors, bad }] = await Promise.all([get('/v1/journal/state', { signal, watch: true }), get('/v1/anchors', { signal, watch: true })]);
	return { state, anchors: anchors.sort((a, b) => b.seq - a.seq), bad };
}

function Facts({ state, last }) {
	const rows = [
		['Journal', state.journal], ['Kept', `events ${state.first} to ${state.last}, since ${moment(state.first_ms)}`],
		['Verified', `events up to ${state.verified}, by the head when it started, ${moment(state.verified_ms)}; each that came since is chained to the one before it`],
		['Not covered', state.uncovered ? `events up to ${state.uncovered}: no hash says that they are as they were written` : 'none: a hash covers all events'],
		['Last anchor', last ? `event ${last.seq}, ${moment(last.time_ms)}` : 'none yet'],
		['Since then', last ? `${state.last - last.seq} events that no anchor proves yet` : `${state.last} events that no anchor proves yet`],
	];
	return html`<dl class="facts">${rows.map(([k, v]) => html`<div key=${k}><dt>${k}</dt><dd>${v}</dd></div>`)}</dl>`;
}

export function Chain() {
	const [shown, setShown] = useState(null);
	const [error, setError] = useState('');
	useEffect(() => {
		const abort = new AbortController();
		read(abort.signal).then((s) => { setShown(s); setError(''); }, (e) => e.name !== 'AbortError' && setError(e.message));
		return () => abort.abort();
	}, []);
	const lines = () => shown.anchors.map((a) => a.line).reverse().join('\n') + '\n';
	return html`${error && html`<p class="trouble" role="alert">${error}</p>`}${!shown && !error && html`<p role="status">reading …</p>`}
		${shown && html`<section class="sheet" aria-label="The journal's chain"><h2>What the head says</h2><${Facts} state=${shown.state} last=${shown.anchors[0]} />
			<h2>What proves it</h2><p>A copy of the journal, anchors that left the head before, and the site's public key, on another machine:</p>
			<pre class="command" tabindex="0">phx journal verify --journal COPY --anchors FILE --pub site.pub</pre>
			<p class="acts"><button type="button" onClick=${() => save('site.pub', 'application/x-pem-file', shown.state.site_key)}>Save the site's key</button>
				<button type="button" disabled=${!shown.anchors.length} onClick=${() => save('anchors', 'text/plain', lines())}>Save the head's anchors</button></p>
			<p class="quiet">Those that count were kept elsewhere: by the agents (phx-agent --anchors), the system's log, or the places of anchor_file.</p></section>
			<section class="sheet" aria-label="Anchors"><h2>Last anchors</h2>${shown.bad > 0 && html`<p class="warning">${shown.bad} lines of the head's own file are no anchors.</p>`}
			<div class="wide" tabindex="0" role="region" aria-label="List of anchors"><table><thead><tr>${['Event', 'Signed', 'Hash'].map((t) => html`<th scope="col" key=${t}>${t}</th>`)}</tr></thead>
			<tbody>${shown.anchors.slice(0, SHOWN).map((a) => html`<tr key=${a.line}><td>${a.seq}</td><td>${moment(a.time_ms)}</td><td><code>${a.hash}</code></td></tr>`)}</tbody></table></div></section>`}`;
}
