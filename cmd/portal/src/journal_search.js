// Looking for events of the journal: by node or RE, person, kind and time, the newest first, a portion after the other.
import { useEffect, useState } from 'preact/hooks';
import { get } from './api.js';
import { html } from './html.js';
import { moment } from './words.js';

const PORTION = 50;

function pathOf(asked, before) {
	const of = new URLSearchParams({ limit: PORTION });
	for (const key of ['name', 'who', 'kind'])
		if (asked[key])
			of.set(key, asked[key]);
	for (const key of ['from', 'until'])
		if (asked[key])
			of.set(key, new Date(asked[key]).getTime());
	if (before)
		of.set('before', before);
	return `/v1/journal?${of}`;
}

function Form({ kinds, onAsk }) {
	const ask = (e) => {
		e.preventDefault();
		onAsk(Object.fromEntries([...new FormData(e.target)].map(([k, v]) => [k, v.trim()])));
	};
	return html`<form class="sheet" onSubmit=${ask} role="search" aria-label="Search of the journal"><div class="fields">
		<label>Node or runtime environment <input name="name" maxlength="63" /></label>
		<label>Person (a user of the head, or as events name him) <input name="who" maxlength="63" /></label>
		<label>Kind <select name="kind"><option value="">any</option>${kinds.map((k) => html`<option key=${k} value=${k}>${k}</option>`)}</select></label>
		<label>From <input name="from" type="datetime-local" step="1" /></label><label>Until <input name="until" type="datetime-local" step="1" /></label></div>
		<p class="acts"><button type="submit" class="main">Search</button></p></form>`;
}

function Event({ event }) {
	const told = event.notes.map((n) => n.text);
	return html`<tr><td>${event.seq}</td><td>${moment(event.time_ms)}</td><td>${event.person ? `${event.person} (${event.by})` : event.by}</td><td>${event.node}</td>
		<td><b>${event.kind}</b>: ${event.text}${told.map((t, i) => html`<br key=${i} />${t}`)}
			<details><summary>As it was written</summary><pre tabindex="0">${JSON.stringify(event.event, null, 1)}</pre></details></td></tr>`;
}

export function JournalSearch() {
	const [kinds, setKinds] = useState([]);
	const [asked, setAsked] = useState({});
	const [found, setFound] = useState(null);
	const [error, setError] = useState('');
	const read = (of, before, old, signal) => get(pathOf(of, before), { signal }).then((a) => {
		setFound({ events: [...old, ...a.events], before: a.before, more: a.more });
		setError('');
	}, (e) => e.name !== 'AbortError' && setError(e.message));
	useEffect(() => {
		get('/v1/journal/state', { watch: true }).then((s) => setKinds(s.kinds), () => {});
	}, []);
	useEffect(() => {
		const abort = new AbortController();
		setFound(null);
		read(asked, 0, [], abort.signal);
		return () => abort.abort();
	}, [asked]);
	return html`<${Form} kinds=${kinds} onAsk=${setAsked} />${error && html`<p class="trouble" role="alert">${error}</p>`}
		<p class="quiet" role="status">${!found ? error ? '' : 'looking …' : found.events.length === 1 ? 'one event' : `${found.events.length} events${found.more ? ', and there may be older ones' : ''}`}</p>
		${found?.events.length > 0 && html`<div class="wide" tabindex="0" role="region" aria-label="Events"><table class="events">
			<thead><tr>${['Event', 'When', 'By', 'Node', 'What'].map((t) => html`<th scope="col" key=${t}>${t}</th>`)}</tr></thead>
			<tbody>${found.events.map((e) => html`<${Event} key=${e.seq} event=${e} />`)}</tbody></table></div>`}
		${found?.more && html`<p><button type="button" onClick=${() => read(asked, found.before, found.events)}>Older ones</button></p>`}`;
}
