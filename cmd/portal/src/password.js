// Signing in with name and password, where the head lets its users do so. What was typed is kept nowhere but in the form, and goes from it
// with each attempt.
import { useEffect, useState } from 'preact/hooks';
import { html } from './html.js';
import { signInWith } from './session.js';

// Seconds until the head listens again; 0: it does.
function useWait(untilMs) {
	const [left, setLeft] = useState(0);
	useEffect(() => {
		const look = () => setLeft(Math.max(0, Math.ceil((untilMs - Date.now()) / 1000)));
		look();
		const timer = setInterval(look, 1000);
		return () => clearInterval(timer);
	}, [untilMs]);
	return left;
}

export function Password() {
	const [said, setSaid] = useState('');
	const [busy, setBusy] = useState(false);
	const [untilMs, setUntilMs] = useState(0);
	const left = useWait(untilMs);
	const onSubmit = async (e) => {
		e.preventDefault();
		const { user, password } = e.target.elements;
		const words = { user: user.value, password: password.value };
		password.value = '';
		setBusy(true);
		setSaid('');
		const error = await signInWith(words);
		if (!error)
			return;
		setBusy(false);
		setSaid(error.message);
		setUntilMs(Date.now() + (error.status === 429 ? error.retryAfterMs : 0));
		password.focus();
	};
	return html`<form class="password" onSubmit=${onSubmit} aria-label="With a password">
		<label>Name <input name="user" autocomplete="username" autocapitalize="none" spellcheck="false" required maxlength="63" /></label>
		<label>Password <input name="password" type="password" autocomplete="current-password" required maxlength="511" /></label>
		<p><button type="submit" class="main" disabled=${busy || left > 0}>${busy ? 'The head looks …' : left > 0 ? `Wait ${left} s` : 'Sign in'}</button></p>
		${said && html`<p class="trouble" role="alert">${said}</p>`}</form>`;
}
