// What may be done with a runtime environment now, as the head tells: an act is there only while it is allowed, and what it ends is said before.
import { useEffect, useRef, useState } from 'preact/hooks';
import { get, post } from './api.js';
import { html } from './html.js';

// In the order in which they are shown. asks: what is told, or asked, before; danger: something ends for good.
const acts = [
	{ name: 'create', title: 'Grant it', main: true },
	{ name: 'refuse', title: 'Refuse it …', asks: Refuse },
	{ name: 'withdraw', title: 'Take the request back' },
	{ name: 'activate', title: 'Activate', main: true },
	{ name: 'resume', title: 'Resume', main: true },
	{ name: 'suspend', title: 'Suspend' },
	{ name: 'safe-deactivate', title: 'Deactivate when its jobs are done' },
	{ name: 'deactivate', title: 'Deactivate …', asks: Deactivate },
	{ name: 'destroy', title: 'Destroy …', asks: Destroy },
];
const path = (name, act) => `/v1/res/${encodeURIComponent(name)}/${act}`;

function Dialog({ title, children, act, danger, ready, onDo, onClose }) {
	const dialog = useRef(null);
	useEffect(() => dialog.current.showModal(), []);
	const send = (e) => {
		e.preventDefault();
		dialog.current.close();
		onDo();
	};
	return html`<dialog ref=${dialog} onClose=${onClose} aria-labelledby="act-title"><form onSubmit=${send}><h2 id="act-title">${title}</h2>${children}
		<p class="acts"><button type="button" onClick=${() => dialog.current.close()}>Leave it</button>
			<button type="submit" class=${danger ? 'danger' : 'main'} disabled=${!ready}>${act}</button></p></form></dialog>`;
}

function Refuse({ name, onDo, onClose }) {
	const [text, setText] = useState('');
	return html`<${Dialog} title=${`Refuse RE ${name}`} act="Refuse it" danger ready=${text.trim()} onDo=${() => onDo({ text: text.trim() })} onClose=${onClose}>
		<p>Who asked reads this, until he asks again.</p>
		<label>Why <textarea rows="3" maxlength="250" required value=${text} onInput=${(e) => setText(e.target.value.replace(/\n/g, ' '))}></textarea></label><//>`;
}

function useTried(name, act) {
	const [tried, setTried] = useState(null);
	useEffect(() => {
		post(path(name, act), { dry_run: true }).then(setTried, (e) => setTried({ error: e.message }));
	}, []);
	return tried;
}

function Jobs({ jobs }) {
	if (!jobs.length)
		return html`<p class="notice">Nobody's job ends. The data directory stays.</p>`;
	return html`<p class="trouble"><b>Jobs end:</b> ${jobs.map((j) => `${j.id}${j.user ? ` of ${j.user}` : ''}${j.requeue ? ' (kept, to run again)' : ''}`).join(', ')}</p>`;
}

function Deactivate({ name, onDo, onClose }) {
	const tried = useTried(name, 'deactivate');
	const jobs = tried?.jobs ?? [];
	return html`<${Dialog} title=${`Deactivate RE ${name}`} act="Deactivate it" danger=${jobs.length > 0} ready=${tried && !tried.error} onDo=${() => onDo({ kill_jobs: jobs.map((j) => j.id) })} onClose=${onClose}>
		<p>Its nodes are given back.</p>${!tried ? html`<p>Asking the head …</p>` : tried.error ? html`<p class="trouble">${tried.error}</p>` : html`<${Jobs} jobs=${jobs} />`}<//>`;
}

function Destroy({ name, onDo, onClose }) {
	const [typed, setTyped] = useState('');
	const [files, setFields] = useState(null);
	useEffect(() => {
		get(`${path(name, 'data')}`).then((a) => setFields(a.files.length), () => setFields(null));
	}, []);
	return html`<${Dialog} title=${`Destroy RE ${name}`} act="Destroy it" danger ready=${typed === name} onDo=${() => onDo({})} onClose=${onClose}>
		<p class="trouble"><b>Its data directory is removed${files ? `, with ${files === 1 ? 'one file' : `${files} files`}` : ''}.</b> Jobs that it kept are cancelled.</p>
		<label>To do so, type its name <input value=${typed} autocomplete="off" onInput=${(e) => setTyped(e.target.value)} /></label><//>`;
}

export function Acts({ name, may, onDone }) {
	const [asked, setAsked] = useState(null);
	const [said, setSaid] = useState(null);
	const [busy, setBusy] = useState(false);
	const sent = useRef(false), before = useRef(null); // what was allowed before the last act: until it is read anew nothing is
	const order = (act, body) => {
		if (sent.current || before.current === may) // twice is once
			return;
		sent.current = true;
		setBusy(true);
		post(path(name, act.name), body).then((a) => { before.current = may; setSaid({ notes: a.notes }); }, (e) => setSaid({ error: e.message }))
			.finally(() => { sent.current = false; setBusy(false); onDone(); });
	};
	const there = acts.filter((a) => may.includes(a.name));
	return html`<div class="re-acts" role="group" aria-label="What may be done">
		${there.map((a) => html`<button key=${a.name} type="button" class=${a.main ? 'main' : ''} disabled=${busy || before.current === may} onClick=${() => (a.asks ? setAsked(a) : order(a, {}))}>${a.title}</button>`)}</div>
		${asked && html`<${asked.asks} name=${name} onClose=${() => setAsked(null)} onDo=${(body) => order(asked, body)} />`}
		<div role="status">${said?.notes?.length > 0 && html`<ul class="notice plain">${said.notes.slice(0, 20).map((n, i) => html`<li key=${i}>${n}</li>`)}</ul>`}</div>
		${said?.error && html`<p class="trouble" role="alert">${said.error}</p>`}`;
}
